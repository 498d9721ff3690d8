//! What the proof kinds have in common: upstream's `CompoundProof` over one shape of tree.

use std::borrow::Cow;
use std::marker::PhantomData;

use bellpepper_core::Circuit;
use bellperson::groth16 as upstream;
use blstrs::{Bls12, Scalar as Fr};
use cuzk_groth16::{Blinding, Observer, Proof, VerifyingKey};
use cuzk_r1cs::{Checked, ConstraintSystemMatrices, Synthesis};
use storage_proofs_core::compound_proof::{self, CircuitComponent, CompoundProof};
use storage_proofs_core::multi_proof::MultiProof;
use storage_proofs_core::parameter_cache::ParameterSetMetadata;
use storage_proofs_core::proof::ProofScheme;

use crate::Error;
use crate::reference::{self, ReferenceParameters, ReferenceProof};

/// A statement whose circuits can be built, walked, proved by the reference and verified.
pub(crate) trait Provable {
    /// Walks the circuit of a partition with its values.
    fn synthesize(&self, partition: usize) -> Result<Synthesis, Error>;

    /// As [`Provable::synthesize`], and compares each constraint with C·w.
    fn synthesize_checked(&self, partition: usize) -> Result<Checked, Error>;

    /// Proves a partition through unmodified bellperson.
    fn prove_by_reference(
        &self,
        partition: usize,
        parameters: &ReferenceParameters,
        blinding: &Blinding,
    ) -> Result<ReferenceProof, Error>;

    /// Proves a partition over upstream's public pieces and reports the digest of each step.
    fn digests_by_reference(
        &self,
        partition: usize,
        parameters: &ReferenceParameters,
        blinding: &Blinding,
        observer: &dyn Observer,
    ) -> Result<Proof, Error>;

    /// The public inputs of a partition's circuit, without ONE.
    fn public_inputs(&self, partition: usize) -> Result<Vec<Fr>, Error>;

    /// Upstream's verification of all partitions' proofs.
    fn verify(&self, key: &VerifyingKey, proof: &[u8]) -> Result<(), Error>;

    /// Upstream's verification of one partition's proof of 192 bytes.
    fn verify_partition(&self, key: &VerifyingKey, partition: usize, proof: &[u8]) -> Result<(), Error>;
}

/// A [`Provable`] over upstream's proof scheme `S`, its circuit `C` and the type `P` that joins them.
pub(crate) struct Compound<'v, S: ProofScheme<'static>, C, P>
where
    S::Proof: Clone,
{
    pub(crate) params: compound_proof::PublicParams<'static, S>,
    pub(crate) inputs: S::PublicInputs,
    pub(crate) requirements: S::Requirements,
    /// One vanilla proof a partition.
    pub(crate) vanilla: Cow<'v, [S::Proof]>,
    pub(crate) circuit: PhantomData<fn() -> (C, P)>,
}

/// Upstream's parameters of a scheme with a number of partitions.
pub(crate) fn public_params<S, C, P>(
    vanilla_params: S::SetupParams,
    partitions: Option<usize>,
) -> Result<compound_proof::PublicParams<'static, S>, Error>
where
    S: ProofScheme<'static>,
    C: Circuit<Fr> + CircuitComponent + Send,
    P: CompoundProof<'static, S, C>,
    S::Proof: Sync + Send,
    S::PublicParams: ParameterSetMetadata + Sync + Send,
    S::PublicInputs: Clone + Sync,
{
    P::setup(&compound_proof::SetupParams { vanilla_params, partitions, priority: false })
        .map_err(Error::upstream("setting up the circuit"))
}

/// The matrices of upstream's blank circuit.
pub(crate) fn record_blank<S, C, P>(params: &S::PublicParams) -> Result<ConstraintSystemMatrices, Error>
where
    S: ProofScheme<'static>,
    C: Circuit<Fr> + CircuitComponent + Send,
    P: CompoundProof<'static, S, C>,
    S::Proof: Sync + Send,
    S::PublicParams: ParameterSetMetadata + Sync + Send,
    S::PublicInputs: Clone + Sync,
{
    cuzk_r1cs::record(P::blank_circuit(params)).map_err(synthesis_error)
}

impl<S, C, P> Compound<'_, S, C, P>
where
    S: ProofScheme<'static>,
    C: Circuit<Fr> + CircuitComponent + Send,
    P: CompoundProof<'static, S, C>,
    S::Proof: Clone + Sync + Send,
    S::PublicParams: ParameterSetMetadata + Sync + Send,
    S::PublicInputs: Clone + Sync,
{
    fn circuit(&self, partition: usize) -> Result<C, Error> {
        P::circuit(
            &self.inputs,
            C::ComponentPrivateInputs::default(),
            &self.vanilla[partition],
            &self.params.vanilla_params,
            Some(partition),
        )
        .map_err(Error::upstream("building the circuit"))
    }
}

impl<S, C, P> Provable for Compound<'_, S, C, P>
where
    S: ProofScheme<'static>,
    C: Circuit<Fr> + CircuitComponent + Send,
    P: CompoundProof<'static, S, C>,
    S::Proof: Clone + Sync + Send,
    S::PublicParams: ParameterSetMetadata + Sync + Send,
    S::PublicInputs: Clone + Sync,
{
    fn synthesize(&self, partition: usize) -> Result<Synthesis, Error> {
        cuzk_r1cs::evaluate(self.circuit(partition)?).map_err(synthesis_error)
    }

    fn synthesize_checked(&self, partition: usize) -> Result<Checked, Error> {
        cuzk_r1cs::check(self.circuit(partition)?).map_err(synthesis_error)
    }

    fn prove_by_reference(
        &self,
        partition: usize,
        parameters: &ReferenceParameters,
        blinding: &Blinding,
    ) -> Result<ReferenceProof, Error> {
        reference::prove(self.circuit(partition)?, parameters, blinding)
    }

    fn digests_by_reference(
        &self,
        partition: usize,
        parameters: &ReferenceParameters,
        blinding: &Blinding,
        observer: &dyn Observer,
    ) -> Result<Proof, Error> {
        reference::prove_in_steps(self.circuit(partition)?, parameters, blinding, observer)
    }

    fn public_inputs(&self, partition: usize) -> Result<Vec<Fr>, Error> {
        P::generate_public_inputs(&self.inputs, &self.params.vanilla_params, Some(partition))
            .map_err(Error::upstream("computing the public inputs"))
    }

    fn verify(&self, key: &VerifyingKey, proof: &[u8]) -> Result<(), Error> {
        let key = prepared(key)?;
        let invalid = |reason: String| Error::ProofInvalid { reason };
        let proofs = MultiProof::new_from_bytes(self.params.partitions, proof, &key)
            .map_err(|error| invalid(format!("it is not made of points: {error:#}")))?;
        let verified = P::verify(&self.params, &self.inputs, &proofs, &self.requirements)
            .map_err(|error| invalid(format!("{error:#}")))?;
        if verified { Ok(()) } else { Err(invalid("upstream's verifier says so".to_owned())) }
    }

    fn verify_partition(&self, key: &VerifyingKey, partition: usize, proof: &[u8]) -> Result<(), Error> {
        let invalid =
            |reason: String| Error::ProofInvalid { reason: format!("partition {partition}: {reason}") };
        let inputs = self.public_inputs(partition)?;
        let proof = upstream::Proof::<Bls12>::read(proof)
            .map_err(|error| invalid(format!("it is not made of points: {error}")))?;
        let verified = upstream::verify_proof(&prepared(key)?, &proof, &inputs)
            .map_err(|error| invalid(error.to_string()))?;
        if verified { Ok(()) } else { Err(invalid("upstream's verifier says so".to_owned())) }
    }
}

fn synthesis_error(error: cuzk_r1cs::SynthesisError) -> Error {
    Error::Groth16(cuzk_groth16::Error::Synthesis(error))
}

/// Upstream's form of a verifying key.
pub(crate) fn prepared(key: &VerifyingKey) -> Result<upstream::PreparedVerifyingKey<Bls12>, Error> {
    let key = upstream::VerifyingKey::<Bls12>::read(&key.to_bytes()[..])
        .map_err(|error| Error::Upstream { doing: "reading the verifying key", source: error.into() })?;
    Ok(upstream::prepare_verifying_key(&key))
}
